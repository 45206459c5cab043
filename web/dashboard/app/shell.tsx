import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { Changes, type ConnectionState } from '../api/changes.ts'
import { useSession } from '../api/session.ts'
import { texts } from '../texts/texts.ts'
import { IconButton } from '../ui/button.tsx'
import { rememberEnvironment, useEnvironment } from './environment.ts'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { Navigation } from './navigation.tsx'
import { usePaletteState } from './palette-state.ts'
import { SearchCommand } from './search-command.tsx'
import styles from './shell.module.css'
import { Shortcuts } from './shortcuts.tsx'

// None of them is needed to see and use the first view.
const AccountMenu = lazy(() => import('./account-menu.tsx'))
const CommandPalette = lazy(() => import('./command-palette.tsx'))
const Drawer = lazy(() => import('./drawer.tsx'))
const UploadPanel = lazy(() => loadPatiently(() => import('../upload/upload-panel.tsx')))

/** A short interruption is not worth a message. */
const lostMs = 3_000

const retryMs = 5_000

/** The views work without it, so a failure is not worth an error. */
async function loadPatiently<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

/** What surrounds every view: navigation, environment, account, live updates, shortcuts. */
export function Shell() {
  const environment = useEnvironment()
  const { version } = useSession()
  useEffect(() => {
    document.documentElement.dataset.environment = environment
    rememberEnvironment(environment)
    return () => {
      delete document.documentElement.dataset.environment
    }
  }, [environment])
  const isLost = useChanges()
  const content = useFocusOnNavigation()
  const [isPaletteOpen] = usePaletteState()
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        {texts.navigation.skip}
      </a>
      <header className={styles.sidebar}>
        <Brand />
        <EnvironmentSwitch />
        <Navigation />
        <div className={styles.foot}>
          <span>
            {texts.product} {version}
          </span>
          <LazyAccountMenu />
        </div>
      </header>
      <div className={styles.main}>
        <TopBar />
        {environment === 'sandbox' && (
          <div className={styles.banner} role="note">
            {texts.environments.sandboxBanner}
          </div>
        )}
        {/* The key ends everything that a view of the other environment keeps in memory. */}
        <main key={environment} id="content" ref={content} tabIndex={-1} className={styles.content}>
          <Outlet />
        </main>
      </div>
      <div role="status">{isLost && <div className={styles.notice}>{texts.states.reconnecting}</div>}</div>
      <Suspense>{isPaletteOpen && <CommandPalette />}</Suspense>
      <Shortcuts />
      <SearchCommand />
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
      {texts.product}
    </Link>
  )
}

/** The navigation of small screens. */
function TopBar() {
  const [isOpen, setOpen] = useState(false)
  return (
    <div className={styles.topbar}>
      <IconButton
        icon="menu"
        label={texts.navigation.open}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
      />
      <Suspense>{isOpen && <Drawer onClose={() => setOpen(false)} />}</Suspense>
      <Brand />
      <LazyAccountMenu />
    </div>
  )
}

const LazyAccountMenu = () => (
  <Suspense fallback={<IconButton icon="user" label={texts.account.menu} disabled />}>
    <AccountMenu />
  </Suspense>
)

/** Keeps the page up to date. Returns whether the connection has been lost for some time. */
function useChanges(): boolean {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [state, setState] = useState<ConnectionState>('connecting')
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    const changes = new Changes(environment, client, setState)
    changes.open()
    return () => changes.close()
  }, [environment, client])
  useEffect(() => {
    if (state !== 'lost') return setLost(false)
    const timer = setTimeout(() => setLost(true), lostMs)
    return () => clearTimeout(timer)
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
