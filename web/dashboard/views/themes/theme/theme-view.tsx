import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isMissing } from '../../../api/problem.ts'
import {
  deleteTheme,
  type PlayerTheme,
  saveTheme,
  type ThemeFields,
  themeFieldsOf,
  themeQuery,
  themesQuery,
} from '../../../api/themes.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { SaveBar } from '../../../draft/save-bar.tsx'
import { useDraft } from '../../../draft/use-draft.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Form } from '../../../ui/form.tsx'
import { Page } from '../../../ui/page.tsx'
import { ErrorState, Loading } from '../../../ui/states.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { showToast } from '../../../ui/toast-list.ts'
import { LogoPanel } from './logo-panel.tsx'
import { Preview } from './preview.tsx'
import { ThemeForm } from './theme-form.tsx'
import styles from './theme-view.module.css'
import { UsedBy } from './used-by.tsx'

export function ThemeView() {
  const environment = useEnvironment()
  const { playerId } = useParams({ from: '/$environment/themes/$playerId' })
  const theme = useQuery(themeQuery(environment, playerId))
  if (theme.data && !isMissing(theme.error)) return <LoadedTheme key={playerId} theme={theme.data} />
  return (
    <Page title={messages.themes.title}>
      {theme.error ? <ErrorState error={theme.error} onRetry={() => theme.refetch()} /> : <Loading />}
    </Page>
  )
}

const labels: Record<keyof ThemeFields, string> = {
  ...messages.themes.colors,
  ...messages.themes.optionLabels,
  name: messages.themes.name,
}

function LoadedTheme({ theme }: { theme: PlayerTheme }) {
  const environment = useEnvironment()
  const form = useDraft({
    query: themeQuery(environment, theme.playerId),
    data: theme,
    valuesOf: themeFieldsOf,
    store: (change) => saveTheme(environment, theme.playerId, change),
    onSaved: () => showToast(messages.themes.saved),
  })
  const name = titleOf(theme.name)
  return (
    <Page
      title={name}
      parents={[{ label: messages.themes.title, to: '/$environment/themes' }]}
      intro={<code>{theme.playerId}</code>}
      actions={<DeleteButton playerId={theme.playerId} name={name} />}
    >
      <div className={styles.columns}>
        <div className={styles.preview}>
          <Preview theme={{ ...theme, ...form.typed }} />
          <UsedBy playerId={theme.playerId} />
        </div>
        <div className="stack">
          <Form onSubmit={() => form.save()}>
            <ThemeForm form={form} />
            <SaveBar form={form} labels={labels} />
          </Form>
          <LogoPanel theme={theme} />
        </div>
      </div>
    </Page>
  )
}

function DeleteButton({ playerId, name }: { playerId: string; name: string }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const navigate = useNavigate()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button icon="trash" onClick={() => setOpen(true)}>
        {messages.actions.delete}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={messages.themes.deleteTitle(name)}
        description={messages.themes.deleteText}
        action={messages.actions.delete}
        onConfirm={async () => {
          await deleteTheme(environment, playerId)
          client.removeQueries(themesQuery(environment))
          showToast(messages.themes.deleted)
          await navigate({ to: '/$environment/themes', params: { environment }, ignoreBlocker: true })
        }}
      />
    </>
  )
}
