import { Link } from '@tanstack/react-router'
import { texts } from '../texts/texts.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { useEnvironment } from './environment.ts'
import styles from './shell.module.css'

type Destination = { to: string; icon: IconName; label: string; shortcut: string; isExact?: boolean }

/** In the order of the menu. The shortcut follows "g". */
export const destinations = [
  { to: '/$environment', icon: 'home', label: texts.navigation.home, shortcut: 'h', isExact: true },
  { to: '/$environment/videos', icon: 'video', label: texts.navigation.videos, shortcut: 'v' },
  { to: '/$environment/live', icon: 'live', label: texts.navigation.live, shortcut: 'l' },
  { to: '/$environment/viewers', icon: 'chart', label: texts.navigation.viewers, shortcut: 'a' },
  { to: '/$environment/webhooks', icon: 'webhook', label: texts.navigation.webhooks, shortcut: 'w' },
  { to: '/$environment/themes', icon: 'palette', label: texts.navigation.themes, shortcut: 't' },
  { to: '/$environment/keys', icon: 'key', label: texts.navigation.keys, shortcut: 'k' },
  { to: '/$environment/system', icon: 'system', label: texts.navigation.system, shortcut: 's' },
] as const satisfies Destination[]

export function Navigation({ onNavigate }: { onNavigate?: () => void }) {
  const environment = useEnvironment()
  return (
    <nav aria-label={texts.navigation.label}>
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
      <a className={styles.link} href="/docs" target="_blank" rel="noreferrer">
        <Icon name="book" />
        {texts.navigation.documentation}
      </a>
    </nav>
  )
}
