const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const

/** 1,234,567 as "1.2 MB". */
export function formatBytes(bytes: number): string {
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3))
  return `${Number((bytes / 1000 ** power).toFixed(1))} ${units[power]}`
}
