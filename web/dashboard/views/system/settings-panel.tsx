import { useState } from 'react'
import type { Setting } from '../../api/system.ts'
import { messages } from '../../messages/messages.ts'
import { Badge } from '../../ui/badge.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Panel } from '../../ui/panel.tsx'
import { Table } from '../../ui/table.tsx'
import styles from './settings-panel.module.css'

/** The values that the service uses. Secrets are not sent to the page. */
export function SettingsPanel({ settings }: { settings: Setting[] }) {
  const [search, setSearch] = useState('')
  const words = search.toLowerCase().split(/\s+/)
  const found = settings
    .filter(({ name, meaning, value }) => {
      const text = `${name} ${meaning} ${value ?? ''}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    // What was changed on this server comes first.
    .sort((one, other) => Number(one.isDefault) - Number(other.isDefault))
  return (
    <Panel
      title={messages.system.settings}
      actions={
        <input
          type="search"
          className={styles.search}
          aria-label={messages.system.searchSettings}
          placeholder={messages.system.searchSettings}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      }
    >
      <p className="muted">{messages.system.settingsIntro}</p>
      {found.length === 0 ? (
        <p role="status">{messages.system.noSettings}</p>
      ) : (
        <Table
          label={messages.system.settings}
          rows={found}
          keyOf={({ name }) => name}
          columns={[
            {
              label: messages.system.setting,
              cell: ({ name }) => <code className={styles.name}>{name}</code>,
            },
            { label: messages.system.value, cell: (setting) => <Value setting={setting} /> },
            {
              label: messages.system.meaning,
              cell: ({ meaning }) => <span className={styles.meaning}>{meaning}</span>,
            },
          ]}
        />
      )}
    </Panel>
  )
}

function Value({ setting: { value, isSecret, isDefault } }: { setting: Setting }) {
  if (isSecret && !isDefault) return <Badge>{messages.system.secret}</Badge>
  return (
    <span className={classNames(styles.value, isDefault && 'muted')}>
      {value === null ? messages.system.unset : <code>{value}</code>}
    </span>
  )
}
