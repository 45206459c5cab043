/** `1:02:03` or `2:03`. */
export function timeText(seconds: number): string {
  const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor)
  const padded = (n = 0) => String(n).padStart(2, '0')
  return hours ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${minutes}:${padded(rest)}`
}
