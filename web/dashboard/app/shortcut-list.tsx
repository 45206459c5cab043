import { useState, useSyncExternalStore } from 'react'
import { texts } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { CheckField } from '../ui/field.tsx'
import { readCommands, subscribeToCommands } from './commands.ts'
import { destinations } from './navigation.tsx'
import styles from './shortcuts.module.css'
import { chooseShortcuts, readUsesShortcuts } from './shortcuts-setting.ts'

/** All keys of the dashboard and of the view that is shown. */
export default function ShortcutList({ onClose }: { onClose(): void }) {
  const [isOn, setOn] = useState(readUsesShortcuts)
  const commands = useSyncExternalStore(subscribeToCommands, readCommands)
  const rows: [string, string][] = [
    ['Ctrl K', texts.shortcuts.palette],
    ['← ↑ → ↓', texts.shortcuts.move],
    ...commands.flatMap(({ key, label }): [string, string][] => (key ? [[key, label]] : [])),
    ...destinations.map(({ shortcut, label }): [string, string] => [
      `g ${shortcut}`,
      texts.shortcuts.goTo(label),
    ]),
  ]
  return (
    <Dialog isOpen onClose={onClose} title={texts.shortcuts.title}>
      <CheckField
        label={texts.shortcuts.enable}
        hint={texts.shortcuts.enableHint}
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
