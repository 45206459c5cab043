import { Link } from '@tanstack/react-router'
import { messages } from '../messages/messages.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { useEnvironment } from './environment.ts'
import styles from './shell.module.css'

type Destination = { to: string; icon: IconName; label: string; shortcut: string; isExact?: boolean }

/** In the order of the menu. The shortcut follows "g". */
export const destinations = [
  { to: '/$environment', icon: 'home', label: messages.navigation.home, shortcut: 'h', isExact: true },
  { to: '/$environment/videos', icon: 'video', label: messages.navigation.videos, shortcut: 'v' },
  { to: '/$environment/live', icon: 'live', label: messages.navigation.live, shortcut: 'l' },
  { to: '/$environment/viewers', icon: 'chart', label: messages.navigation.viewers, shortcut: 'a' },
  { to: '/$environment/webhooks', icon: 'webhook', label: messages.navigation.webhooks, shortcut: 'w' },
  { to: '/$environment/themes', icon: 'palette', label: messages.navigation.themes, shortcut: 't' },
  { to: '/$environment/watermarks', icon: 'watermark', label: messages.navigation.watermarks, shortcut: 'm' },
  { to: '/$environment/keys', icon: 'key', label: messages.navigation.keys, shortcut: 'k' },
  { to: '/$environment/system', icon: 'system', label: messages.navigation.system, shortcut: 's' },
] as const satisfies Destination[]

export function Navigation({ onNavigate }: { onNavigate?: () => void }) {
  const environment = useEnvironment()
  return (
    <nav aria-label={messages.navigation.label}>
      <ul className={styles.links}>
        {destinations.map((each) => (
          <li key={each.to}>
            <Link
              to={each.to}
              params={{ environment }}
              className={styles.link}
              activeOptions={{ exact: 'isExact' in each }}
              {...(onNavigate && { onClick: onNavigate })}
            >
              <Icon name={each.icon} />
              {each.label}
            </Link>
          </li>
        ))}
      </ul>
      <a className={styles.link} href="/docs/guides" target="_blank" rel="noreferrer">
        <Icon name="book" />
        {messages.navigation.documentation}
      </a>
    </nav>
  )
}
