import { useState } from 'react'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { useViewersSearch } from '../use-viewers-search.ts'
import { periods, type ViewersSearch } from '../viewers-search.ts'
import { readRange } from './period.ts'
import styles from './period-picker.module.css'

const dayOf = (date: Date) => date.toISOString().slice(0, 10)

export function PeriodPicker() {
  const { search, change } = useViewersSearch()
  const { period = '7d' } = search
  const choose = (next: (typeof periods)[number]) => {
    if (next !== 'custom') return change({ period: next, from: undefined, to: undefined })
    // Begins with the days that are shown.
    const { from, to } = readRange(search).current
    change({ period: next, from: dayOf(from), to: dayOf(to) })
  }
  return (
    <div className={styles.picker}>
      <fieldset className={styles.choices}>
        <legend className="visually-hidden">{messages.viewers.period}</legend>
        {periods.map((each) => (
          <label key={each} className={styles.choice}>
            <input
              type="radio"
              name="period"
              className="visually-hidden"
              checked={each === period}
              onChange={() => choose(each)}
            />
            {messages.viewers.periods[each]}
          </label>
        ))}
      </fieldset>
      {period === 'custom' && (
        <CustomDays key={`${search.from} ${search.to}`} search={search} onChange={change} />
      )}
    </div>
  )
}

type CustomDaysProps = { search: ViewersSearch; onChange(part: ViewersSearch): void }

function CustomDays({ search, onChange }: CustomDaysProps) {
  const [from, setFrom] = useState(search.from ?? '')
  const [to, setTo] = useState(search.to ?? '')
  return (
    <Form className={styles.days} onSubmit={() => onChange({ from, to })}>
      <TextField
        type="date"
        label={messages.viewers.from}
        required
        value={from}
        max={to || undefined}
        onChange={(event) => setFrom(event.target.value)}
      />
      <TextField
        type="date"
        label={messages.viewers.to}
        required
        value={to}
        min={from || undefined}
        onChange={(event) => setTo(event.target.value)}
      />
      <Button type="submit">{messages.viewers.apply}</Button>
    </Form>
  )
}
