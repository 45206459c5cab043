import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { ownPath } from '../../api/own-path.ts'
import { type PlayerTheme, type ThemeColor, themesQuery } from '../../api/themes.ts'
import { useCommand } from '../../app/commands.ts'
import { useEnvironment } from '../../app/environment.ts'
import { messages } from '../../messages/messages.ts'
import { Button } from '../../ui/button.tsx'
import { Page } from '../../ui/page.tsx'
import { PagedList } from '../../ui/paged-list.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { titleOf } from '../../ui/title-of.ts'
import { CreateThemeDialog } from './create-theme-dialog.tsx'
import styles from './themes-view.module.css'

export function ThemesView() {
  const themes = useInfiniteQuery(themesQuery(useEnvironment()))
  const [isCreating, setCreating] = useState(false)
  const run = useCallback(() => setCreating(true), [])
  useCommand({ id: 'create-theme', label: messages.themes.create, run })
  const create = (
    <Button variant="primary" icon="plus" onClick={run}>
      {messages.themes.create}
    </Button>
  )
  return (
    <Page title={messages.themes.title} intro={messages.themes.intro} actions={create}>
      <PagedList
        query={themes}
        empty={
          <EmptyState icon="palette" title={messages.themes.emptyTitle}>
            {messages.themes.empty}
          </EmptyState>
        }
      >
        {(rows) => <ThemeTable themes={rows} />}
      </PagedList>
      <CreateThemeDialog isOpen={isCreating} onClose={() => setCreating(false)} />
    </Page>
  )
}

const shownColors: ThemeColor[] = ['link', 'trackPlayed', 'backgroundBottom']

function ThemeTable({ themes }: { themes: PlayerTheme[] }) {
  const environment = useEnvironment()
  return (
    <Table
      isMain
      label={messages.themes.title}
      rows={themes}
      keyOf={({ playerId }) => playerId}
      columns={[
        {
          label: messages.themes.name,
          cell: ({ playerId, name }) => (
            <Link
              to="/$environment/themes/$playerId"
              params={{ environment, playerId }}
              className={styles.name}
            >
              {titleOf(name)}
            </Link>
          ),
        },
        {
          label: messages.themes.colorsColumn,
          cell: (theme) => (
            <span className={styles.colors} aria-hidden="true">
              {shownColors.map((name) => (
                <span key={name} className={styles.swatch}>
                  <span style={{ background: theme[name] }} />
                </span>
              ))}
            </span>
          ),
        },
        {
          label: messages.themes.logoColumn,
          cell: ({ assets }) =>
            assets.logo ? (
              <img className={styles.logo} src={ownPath(assets.logo)} alt={messages.themes.hasLogo} />
            ) : (
              messages.states.none
            ),
        },
        { label: messages.themes.updatedAt, cell: ({ updatedAt }) => <Time value={updatedAt} /> },
      ]}
    />
  )
}
