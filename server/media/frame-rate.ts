import type { Rational } from './source-media.ts'

const STANDARD_RATES: Rational[] = [
  ...[24, 30, 60].map((rate) => ({ num: rate * 1000, den: 1001 })),
  ...[24, 25, 30, 48, 50, 60].map((rate) => ({ num: rate, den: 1 })),
]
const MAX_RATE = 60
/** Unknown rates come from browsers and phones, which record at 30. */
const UNKNOWN_RATE: Rational = { num: 30, den: 1 }

/**
 * Chooses a constant frame rate. `r` is the lowest rate that represents all timestamps of the probed frames: the true rate
 * of a constant source, the field rate of an interlaced one, or a time base if times are irregular. The average covers
 * the entire file.
 */
export function chooseRate(r: Rational | undefined, average: Rational | undefined): Rational {
  const declared = plausibleRate(average) ?? plausibleRate(r)
  if (!declared) return UNKNOWN_RATE
  const declaredRate = toNumber(declared)
  // A rate of 60.02 is 60 with inaccurate timestamps. It must not become 30.
  const divisor = Math.ceil(declaredRate / MAX_RATE - 0.01)
  const wanted = declaredRate / Math.max(1, divisor)
  const nearest = STANDARD_RATES.reduce((a, b) => (deviation(b, wanted) < deviation(a, wanted) ? b : a))
  // Within half the distance between 24 and 23.976, it is the same rate in other numbers (2997/100).
  if (deviation(nearest, wanted) < 0.0005) return nearest
  const base = plausibleRate(r)
  if (base && deviation(base, declaredRate) < 0.02)
    return normalizeRate({ num: base.num, den: base.den * Math.max(1, divisor) })
  // Screen recorders skip frames while nothing moves. The full rate is needed where something moves. An average of half
  // the rate means fields, or slightly inaccurate times.
  const isFull = STANDARD_RATES.some((rate) => base && deviation(rate, toNumber(base)) < 0.0005)
  if (
    base &&
    isFull &&
    toNumber(base) > declaredRate &&
    toNumber(base) < 6 * declaredRate &&
    deviation(base, 2 * declaredRate) > 0.02
  )
    return normalizeRate(base)
  // Irregular rates are rather rounded up: a repeated frame is less visible than a missing one.
  const near = STANDARD_RATES.filter(
    (rate) => toNumber(rate) > wanted * 0.95 && toNumber(rate) < wanted * 1.25,
  )
  if (near.length > 0) return near.reduce((a, b) => (deviation(b, wanted) < deviation(a, wanted) ? b : a))
  return normalizeRate({ num: Math.round(wanted), den: 1 })
}

/** Excludes time bases (1000, 90000). */
export function plausibleRate(rate: Rational | undefined): Rational | undefined {
  return rate && toNumber(rate) > 0 && toNumber(rate) <= 960 ? rate : undefined
}

/** Reduced to lowest terms with a small denominator, because the timescale is derived from them. */
function normalizeRate(rate: Rational): Rational {
  const inRange = Math.min(MAX_RATE, Math.max(1, toNumber(rate)))
  const isExact = inRange === toNumber(rate)
  const divisor = greatestCommonDivisor(rate.num, rate.den)
  if (isExact && rate.den / divisor <= 1001) return { num: rate.num / divisor, den: rate.den / divisor }
  const num = Math.round(inRange * 1000)
  const common = greatestCommonDivisor(num, 1000)
  return { num: num / common, den: 1000 / common }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

function deviation(rate: Rational, wanted: number): number {
  return Math.abs(toNumber(rate) / wanted - 1)
}

export function toNumber(rate: Rational): number {
  return rate.num / rate.den
}

/** Parses `num/den`. Undefined unless both are positive. */
export function parseRational(text: string | undefined): Rational | undefined {
  const [num, den] = (text ?? '').split('/').map(Number)
  if (!Number.isSafeInteger(num) || !Number.isSafeInteger(den) || num! <= 0 || den! <= 0) return undefined
  return { num: num!, den: den! }
}
