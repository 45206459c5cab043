import type { ReactNode } from 'react'
import { SelectField } from '../ui/field.tsx'
import { formatUnit } from '../ui/format.ts'

const hour = 3_600
export const day = 24 * hour

/** In seconds. Deliveries are kept for 30 days, and a previous secret can be used for as long. */
export const longest = 30 * day
const periods = [hour, day, 7 * day, longest]

const formatPeriod = (seconds: number) =>
  seconds < day ? formatUnit(seconds / hour, 'hour') : formatUnit(seconds / day, 'day')

type PeriodFieldProps = {
  label: string
  seconds: number
  onChange(seconds: number): void
  /** Further options. */
  children?: ReactNode
}

export const PeriodField = ({ label, seconds, onChange, children }: PeriodFieldProps) => (
  <SelectField label={label} value={seconds} onChange={(event) => onChange(Number(event.target.value))}>
    {periods.map((each) => (
      <option key={each} value={each}>
        {formatPeriod(each)}
      </option>
    ))}
    {children}
  </SelectField>
)
