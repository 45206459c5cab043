import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { Changes, type ConnectionState } from '../api/changes.ts'
import { noteInterruption } from '../api/connection.ts'
import { useSession } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { IconButton } from '../ui/button.tsx'
import { preloadDialogs } from '../ui/dialog.tsx'
import { lazyWithRetry } from '../ui/load-with-retry.ts'
import { useStore } from '../ui/store.ts'
import { DropZone } from '../upload/drop-zone.tsx'
import { rememberEnvironment, useEnvironment } from './environment.ts'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { GlobalCommands } from './global-commands.tsx'
import { Navigation } from './navigation.tsx'
import { Notices } from './notices.tsx'
import { isPaletteOpen } from './palette-state.ts'
import styles from './shell.module.css'
import { Shortcuts } from './shortcuts.tsx'

// None of them is needed to see and use the first view.
const AccountMenu = lazyWithRetry(() => import('./account-menu.tsx'))
const CommandPalette = lazyWithRetry(() => import('./command-palette.tsx'))
const Drawer = lazyWithRetry(() => import('./drawer.tsx'))
const UploadPanel = lazyWithRetry(() => import('../upload/upload-panel.tsx'))

/** A short interruption is not worth a message. */
const lostMs = 3_000

/** What surrounds every view: navigation, environment, account, live updates, shortcuts. */
export function Shell() {
  const environment = useEnvironment()
  const { version, sandbox } = useSession()
  useEffect(() => {
    rememberEnvironment(environment)
  }, [environment])
  useEffect(preloadDialogs, [])
  const isLost = useChanges()
  const content = useFocusOnNavigation()
  const hasPalette = useStore(isPaletteOpen)
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        {messages.navigation.skip}
      </a>
      <header className={styles.sidebar}>
        <Brand />
        <EnvironmentSwitch />
        <Navigation />
        <div className={styles.foot}>
          <span>
            {messages.product} {version}
          </span>
          <LazyAccountMenu />
        </div>
      </header>
      <div className={styles.main}>
        <TopBar />
        {environment === 'sandbox' && (
          <div className={styles.banner} role="note">
            {messages.environments.sandboxBanner(sandbox)}
          </div>
        )}
        {/* The key ends everything that a view of the other environment keeps in memory. */}
        <main key={environment} id="content" ref={content} tabIndex={-1} className={styles.content}>
          <Outlet />
        </main>
      </div>
      <Notices isLost={isLost} />
      <DropZone />
      <Suspense>{hasPalette && <CommandPalette />}</Suspense>
      <Shortcuts />
      <GlobalCommands />
      <Suspense>
        <UploadPanel />
      </Suspense>
    </div>
  )
}

function Brand() {
  const environment = useEnvironment()
  return (
    <Link to="/$environment" params={{ environment }} className={styles.brand}>
      <img src="/favicon.svg" width={24} height={24} alt="" />
      {messages.product}
    </Link>
  )
}

/** The navigation of small screens. */
function TopBar() {
  const [isOpen, setOpen] = useState(false)
  return (
    <header className={styles.topbar}>
      <IconButton
        icon="menu"
        label={messages.navigation.open}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      />
      <Suspense>{isOpen && <Drawer onClose={() => setOpen(false)} />}</Suspense>
      <Brand />
      <LazyAccountMenu />
    </header>
  )
}

const LazyAccountMenu = () => (
  <Suspense fallback={<IconButton icon="user" label={messages.account.menu} disabled />}>
    <AccountMenu />
  </Suspense>
)

/** Keeps the page up to date. Returns whether the connection has been lost for some time. */
function useChanges(): boolean {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { csrfToken } = useSession()
  const [state, setState] = useState<ConnectionState>('connecting')
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const changes = new Changes(environment, client, setState)
    changes.open()
    return () => changes.close()
    // A stream ends with its session, and each session has another token.
  }, [environment, client, csrfToken])
  useEffect(() => {
    noteInterruption(state === 'lost')
    if (state !== 'lost') return setLost(false)
    const timer = setTimeout(() => setLost(true), lostMs)
    return () => {
      noteInterruption(false)
      clearTimeout(timer)
    }
  }, [state])
  return isLost
}

/** Screen readers and keyboards continue at the new view. */
function useFocusOnNavigation() {
  const content = useRef<HTMLElement>(null)
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const last = useRef(path)
  useEffect(() => {
    if (last.current === path) return
    last.current = path
    content.current?.focus({ preventScroll: true })
  }, [path])
  return content
}
