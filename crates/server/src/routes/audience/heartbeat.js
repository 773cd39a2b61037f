// Tells Tickmark that someone is watching: every 30 s while the page is in view, and once more on leaving.
// <script src="https://tickmark.example/heartbeat.js" data-event="expo" data-token="tm_…" data-user="u1"
//   data-session="keynote" data-location="web" data-country="HK" data-groups="staff,press" async></script>
// Attributes are read for every heartbeat, so a page may change them.
(() => {
  const script = document.currentScript, data = script.dataset, origin = new URL(script.src).origin;
  let unnamed = Math.random().toString(36).slice(2) + Date.now().toString(36);
  try { unnamed = localStorage.tickmarkUser ||= unnamed; } catch {}
  const url = () => origin + "/v1/audience/" + encodeURIComponent(data.event) + "/heartbeats";
  const body = () => JSON.stringify({
    user: data.user || unnamed,
    session: data.session,
    location: data.location || "web",
    country: data.country,
    groups: data.groups ? data.groups.split(",") : undefined,
  });
  const send = () => {
    const headers = { "content-type": "application/json" };
    if (data.token) headers.authorization = "Bearer " + data.token;
    fetch(url(), { method: "POST", headers, body: body() }).catch(() => {});
  };
  // A beacon has no headers of ours, and only plain text goes to another origin without asking first.
  const leave = () => data.token
    ? navigator.sendBeacon(url() + "?access_token=" + encodeURIComponent(data.token), body())
    : navigator.sendBeacon(url(), new Blob([body()], { type: "application/json" }));
  let timer;
  const look = (gone) => {
    const inView = !gone && document.visibilityState === "visible";
    if (inView && !timer) {
      send();
      timer = setInterval(send, 30000);
    } else if (!inView && timer) {
      timer = clearInterval(timer);
      leave();
    }
  };
  addEventListener("visibilitychange", () => look());
  addEventListener("pagehide", () => look(true));
  addEventListener("pageshow", () => look());
  look();
})();
