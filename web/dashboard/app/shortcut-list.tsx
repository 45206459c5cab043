import { useState } from 'react'
import { chooseShortcuts, readUsesShortcuts } from '../../shared/shortcuts-setting.ts'
import { messages } from '../messages/messages.ts'
import { Dialog } from '../ui/dialog.tsx'
import { CheckField } from '../ui/field.tsx'
import { useStore } from '../ui/store.ts'
import { commands } from './commands.ts'
import { destinations } from './navigation.tsx'
import styles from './shortcuts.module.css'

/** All keys of the dashboard and of the view that is shown. */
export default function ShortcutList({ onClose }: { onClose(): void }) {
  const [isOn, setOn] = useState(readUsesShortcuts)
  const rows: [string, string][] = [
    ['Ctrl K', messages.shortcuts.palette],
    ['← ↑ → ↓', messages.shortcuts.move],
    ...useStore(commands).flatMap(({ key, label }): [string, string][] => (key ? [[key, label]] : [])),
    ...destinations.map(({ shortcut, label }): [string, string] => [
      `g ${shortcut}`,
      messages.shortcuts.goTo(label),
    ]),
  ]
  return (
    <Dialog isOpen onClose={onClose} title={messages.shortcuts.title}>
      <CheckField
        label={messages.shortcuts.enable}
        hint={messages.shortcuts.enableHint}
        checked={isOn}
        onChange={({ target }) => {
          chooseShortcuts(target.checked)
          setOn(target.checked)
        }}
      />
      <dl className={styles.list}>
        {rows.map(([keys, label]) => (
          <div key={keys} className={styles.row}>
            <dt>{label}</dt>
            <dd>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
