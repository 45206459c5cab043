import * as Radix from '@radix-ui/react-tabs'
import { type ReactNode, useEffect, useRef } from 'react'
import styles from './tabs.module.css'

export type Tab = {
  value: string
  label: ReactNode
  content: ReactNode
  /** What was typed in it stays while another tab is shown. Needs `value`. */
  isKept?: boolean
}

type TabsProps = {
  label: string
  tabs: Tab[]
  value?: string
  onChange?: (value: string) => void
  /** Places the panels, for example beside something that belongs to all tabs. */
  layout?: (panels: ReactNode) => ReactNode
}

/** Without `value` it keeps its own state and begins with the first tab. */
export function Tabs({ label, tabs, value, onChange, layout = (panels) => panels }: TabsProps) {
  const state = value === undefined ? { defaultValue: tabs[0]!.value } : { value }
  const shown = useRef(new Set<string | undefined>())
  shown.current.add(value)
  const list = useRef<HTMLDivElement>(null)
  // The list scrolls on small screens. The page must not scroll with it.
  useEffect(() => {
    const tab = value && list.current?.querySelector<HTMLElement>('[data-state=active]')
    if (tab) list.current!.scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - list.current!.clientWidth / 2
  }, [value])
  const panels = tabs.map((tab) => (
    <Radix.Content
      key={tab.value}
      value={tab.value}
      className={styles.panel}
      {...(tab.isKept && shown.current.has(tab.value) && { forceMount: true })}
    >
      {tab.content}
    </Radix.Content>
  ))
  return (
    <Radix.Root className={styles.tabs} {...state} {...(onChange && { onValueChange: onChange })}>
      <Radix.List ref={list} className={styles.list} aria-label={label}>
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.value} value={tab.value} className={styles.tab}>
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {layout(panels)}
    </Radix.Root>
  )
}
