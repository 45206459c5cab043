import { useNavigate } from '@tanstack/react-router'
import { Suspense, useCallback, useEffect, useState } from 'react'
import { readUsesShortcuts } from '../../shared/shortcuts-setting.ts'
import { messages } from '../messages/messages.ts'
import { lazyWithRetry } from '../ui/load-with-retry.ts'
import { commands, useCommand } from './commands.ts'
import { useEnvironment } from './environment.ts'
import { destinations } from './navigation.tsx'
import { isPaletteOpen } from './palette-state.ts'

/** The second key of "g v" has to follow within this time. */
const sequenceMs = 1_500

const ShortcutList = lazyWithRetry(() => import('./shortcut-list.tsx'))

/** Keys belong to the control that has the focus, if it takes text or is part of a dialog or menu. */
function isTaken(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return (
    target.isContentEditable || target.closest('input, textarea, select, [role=dialog], [role=menu]') !== null
  )
}

/** Handles the keys of the whole dashboard, and lists them. */
export function Shortcuts() {
  const [isOpen, setOpen] = useState(false)
  const environment = useEnvironment()
  const navigate = useNavigate()
  const open = useCallback(() => setOpen(true), [])
  useCommand({ id: 'shortcuts', label: messages.shortcuts.title, key: '?', run: open })
  useEffect(() => {
    let sequenceUntil = 0
    const onKeyDown = (event: KeyboardEvent) => {
      const { key } = event
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault()
        return isPaletteOpen.set(true)
      }
      if (!readUsesShortcuts()) return
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return
      const isSecond = event.timeStamp < sequenceUntil
      sequenceUntil = 0
      const destination = isSecond && destinations.find(({ shortcut }) => shortcut === key)
      if (destination) void navigate({ to: destination.to, params: { environment } })
      else if (key === 'g') sequenceUntil = event.timeStamp + sequenceMs
      else {
        const command = commands.read().find((each) => each.key === key)
        if (!command) return
        event.preventDefault()
        command.run()
      }
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [environment, navigate])
  return <Suspense>{isOpen && <ShortcutList onClose={() => setOpen(false)} />}</Suspense>
}
