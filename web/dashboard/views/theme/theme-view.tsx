import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { isMissing } from '../../api/problem.ts'
import { deleteTheme, type PlayerTheme, themeQuery, themesQuery } from '../../api/themes.ts'
import { useEnvironment } from '../../app/environment.ts'
import { LeaveGuard } from '../../app/leave-guard.tsx'
import { texts } from '../../texts/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Page } from '../../ui/page.tsx'
import { ErrorState, ErrorText, Loading } from '../../ui/states.tsx'
import { showToast } from '../../ui/toast-list.ts'
import { LogoPanel } from './logo-panel.tsx'
import { Preview } from './preview.tsx'
import { ThemeForm } from './theme-form.tsx'
import styles from './theme-view.module.css'
import { useDraft } from './use-draft.ts'
import { UsedBy } from './used-by.tsx'

export function ThemeView() {
  const environment = useEnvironment()
  const { playerId } = useParams({ from: '/$environment/themes/$playerId' })
  const theme = useQuery(themeQuery(environment, playerId))
  if (theme.data && !isMissing(theme.error)) return <LoadedTheme key={playerId} theme={theme.data} />
  return (
    <Page title={texts.themes.title}>
      {theme.error ? <ErrorState error={theme.error} onRetry={() => theme.refetch()} /> : <Loading />}
    </Page>
  )
}

function LoadedTheme({ theme }: { theme: PlayerTheme }) {
  const draft = useDraft(theme)
  const { values, isChanged, error } = draft
  const name = theme.name || texts.themes.unnamed
  return (
    <Page
      title={name}
      intro={<code>{theme.playerId}</code>}
      actions={<DeleteButton playerId={theme.playerId} name={name} />}
    >
      <div className={styles.columns}>
        <div className={styles.preview}>
          <Preview theme={values} />
          <UsedBy playerId={theme.playerId} />
        </div>
        <div className={styles.settings}>
          <form
            className={styles.settings}
            onSubmit={(event) => {
              event.preventDefault()
              draft.save()
            }}
          >
            <ThemeForm values={values} error={error} onChange={draft.set} />
            {isChanged && (
              <div className={styles.bar}>
                {error && <ErrorText error={error} />}
                <div className={styles.actions}>
                  <span role="status">{texts.themes.unsaved}</span>
                  <Button onClick={draft.discard}>{texts.themes.discard}</Button>
                  <Button look="primary" type="submit" disabled={draft.isSaving}>
                    {texts.actions.save}
                  </Button>
                </div>
              </div>
            )}
          </form>
          <LogoPanel theme={theme} />
        </div>
      </div>
      <LeaveGuard isDirty={isChanged} />
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
        {texts.actions.delete}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={texts.themes.deleteTitle(name)}
        description={texts.themes.deleteText}
        action={texts.actions.delete}
        onConfirm={async () => {
          await deleteTheme(environment, playerId)
          client.removeQueries(themesQuery(environment))
          showToast(texts.themes.deleted)
          await navigate({ to: '/$environment/themes', params: { environment }, ignoreBlocker: true })
        }}
      />
    </>
  )
}
