import { formatDateTime, formatRelative } from './format.ts'

/** "5 minutes ago", with the exact time as its tooltip. */
export const Time = ({ value }: { value: string }) => (
  <time dateTime={value} title={formatDateTime(value)}>
    {formatRelative(value)}
  </time>
)
