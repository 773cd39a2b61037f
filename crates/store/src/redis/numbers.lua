-- Adding to numbers that are kept as text, exactly as the vocabulary wants it; the first part of the script.
--
-- Whole numbers are added as 64-bit integers, which Lua does not have, so large ones are added in two halves. Everything
-- else is a double, spelled in the shortest way that reads back the same, without an exponent: as Rust spells it.

local add_any, add_small
do
  local find, match, sub, format, rep = string.find, string.match, string.sub, string.format, string.rep
  local abs, floor, huge = math.abs, math.floor, math.huge

  -- The finite number that a text spells, by the rules of Rust: no hexadecimal, no space, no infinity.
  local function decimal(text)
    local mantissa, exponent = match(text, '^[+-]?([%d.]+)(.*)$')
    if not mantissa then return nil end
    if not (find(mantissa, '^%d+%.?%d*$') or find(mantissa, '^%.%d+$')) then return nil end
    if exponent ~= '' and not find(exponent, '^[eE][+-]?%d+$') then return nil end
    local number = tonumber(text)
    if not number or abs(number) == huge then return nil end
    return number
  end

  -- The shortest plain spelling that reads back as the same number.
  local function spell(number)
    if number == 0 then return '0' end
    local text
    -- Fifteen figures are always kept, except of numbers so small that they have fewer.
    for digits = abs(number) < 2.3e-308 and 0 or 14, 16 do
      text = format('%.' .. digits .. 'e', number)
      if tonumber(text) == number then break end
    end
    local sign, lead, fraction, exponent = match(text, '^(-?)(%d)%.?(%d*)e([+-]%d+)$')
    -- Half-way between two figures printf takes the even one, and Rust the greater.
    local rest = fraction ~= '' and match(format('%.40e', number), '^-?%d%.' .. fraction .. '(%d*)e')
    if rest and find(rest, '^50*$') then fraction = sub(fraction, 1, -2) .. (sub(fraction, -1) + 1) end
    local figures = match(lead .. fraction, '^(%d-)0*$')
    local point = tonumber(exponent) + 1
    if point <= 0 then return sign .. '0.' .. rep('0', -point) .. figures end
    if #figures <= point then return sign .. figures .. rep('0', point - #figures) end
    return sign .. sub(figures, 1, point) .. '.' .. sub(figures, point + 1)
  end

  -- A whole number as two halves that are each exact in Lua: its value is high * 10^9 + low.
  local function halves(text)
    local sign, digits = match(text, '^(-?)(%d+)$')
    local unit = sign == '-' and -1 or 1
    return unit * (tonumber(sub(digits, 1, -10)) or 0), unit * tonumber(sub(digits, -9))
  end

  -- The halves of a 64-bit integer written in its one canonical way, else nothing.
  local function whole(text)
    if not (find(text, '^-?[1-9]%d*$') or text == '0') or #text > 20 then return nil end
    local high, low = halves(text)
    local limit = high < 0 and 854775808 or 854775807
    if abs(high) > 9223372036 or (abs(high) == 9223372036 and abs(low) > limit) then return nil end
    return high, low
  end

  local function add_whole(high, low, by)
    local by_high, by_low = halves(by)
    high, low = high + by_high, low + by_low
    local carry = low >= 0 and floor(low / 1e9) or -floor(-low / 1e9)
    high, low = high + carry, low - carry * 1e9
    if high > 0 and low < 0 then high, low = high - 1, low + 1e9 end
    if high < 0 and low > 0 then high, low = high + 1, low - 1e9 end
    local negative = high < 0 or low < 0
    local limit = negative and 854775808 or 854775807
    if abs(high) > 9223372036 or (abs(high) == 9223372036 and abs(low) > limit) then return nil, 'overflow' end
    local digits = high == 0 and format('%.0f', abs(low)) or format('%.0f%09.0f', abs(high), abs(low))
    return (negative and '-' or '') .. digits
  end

  -- Adds a whole number (a string) or a decimal (a number) to what is stored. Answers nil and why, where it cannot.
  function add_any(old, by)
    if type(by) == 'string' then
      if not old then return by end
      local high, low = whole(old)
      if high then return add_whole(high, low, by) end
    end
    local number = 0
    if old then
      number = decimal(old)
      if not number then return nil, 'not_a_number' end
    end
    local sum = number + tonumber(by)
    if abs(sum) == huge then return nil, 'overflow' end
    return spell(sum)
  end

  -- Sums are small and come again and again, and to spell a number takes longer than anything else here.
  local spelled = {}

  -- The same for a small whole number (as a number, below 2^52), which is nearly every increment there is. Fifteen digits
  -- and that are exact in Lua.
  function add_small(old, by)
    local sum
    if not old then
      sum = by
    elseif #old < 16 and find(old, '^-?%d+$') then
      sum = tonumber(old) + by
    else
      return add_any(old, format('%.0f', by))
    end
    local text = spelled[sum]
    if not text then
      text = format('%.0f', sum)
      spelled[sum] = text
    end
    return text
  end
end

