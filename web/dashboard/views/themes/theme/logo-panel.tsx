import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { ownPath } from '../../../api/own-path.ts'
import { ApiProblem } from '../../../api/problem.ts'
import { deleteLogo, type PlayerTheme, themeQuery, uploadLogo } from '../../../api/themes.ts'
import { useEnvironment } from '../../../app/environment.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Field, TextField } from '../../../ui/field.tsx'
import { Form } from '../../../ui/form.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { ErrorText } from '../../../ui/states.tsx'
import { showToast } from '../../../ui/toast-list.ts'
import styles from './logo-panel.module.css'

/** The logo is saved on its own, immediately. */
export function LogoPanel({ theme }: { theme: PlayerTheme }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const { playerId, assets } = theme
  const [isRemoving, setRemoving] = useState(false)
  return (
    <Panel
      title={messages.themes.logo}
      actions={
        assets.logo && (
          <Button icon="trash" onClick={() => setRemoving(true)}>
            {messages.themes.logoRemove}
          </Button>
        )
      }
    >
      {assets.logo && <CurrentLogo logo={assets.logo} link={assets.link} />}
      <LogoForm theme={theme} />
      <ConfirmDialog
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        title={messages.themes.logoRemove}
        description={messages.themes.logoRemoveText}
        action={messages.themes.logoRemove}
        onConfirm={async () => {
          await deleteLogo(environment, playerId)
          await client.invalidateQueries(themeQuery(environment, playerId))
          showToast(messages.themes.logoRemoved)
        }}
      />
    </Panel>
  )
}

function LogoForm({ theme: { playerId, assets } }: { theme: PlayerTheme }) {
  const environment = useEnvironment()
  const client = useQueryClient()
  const [file, setFile] = useState<File>()
  const [link, setLink] = useState(assets.link ?? '')
  const input = useRef<HTMLInputElement>(null)
  const upload = useMutation({
    mutationFn: () => uploadLogo(environment, playerId, file!, link.trim()),
    onSuccess: (saved) => {
      client.setQueryData(themeQuery(environment, playerId).queryKey, saved)
      setFile(undefined)
      if (input.current) input.current.value = ''
      showToast(messages.themes.logoSaved)
    },
  })
  const fields = upload.error instanceof ApiProblem ? upload.error.fields : {}
  const isShown = fields.file !== undefined || fields.link !== undefined
  return (
    <Form className={styles.form} onSubmit={() => upload.mutate()}>
      <Field label={messages.themes.logoFile} hint={messages.themes.logoHint} error={fields.file}>
        {(control) => (
          <input
            {...control}
            ref={input}
            type="file"
            accept="image/png,image/jpeg"
            required
            onChange={(event) => setFile(event.target.files?.[0])}
          />
        )}
      </Field>
      <TextField
        type="url"
        label={messages.themes.logoLink}
        hint={messages.themes.logoLinkHint}
        placeholder="https://example.com"
        maxLength={2048}
        value={link}
        error={fields.link}
        onChange={(event) => setLink(event.target.value)}
      />
      {upload.error && !isShown && <ErrorText error={upload.error} />}
      <div>
        <Button type="submit" icon="upload" disabled={!file || upload.isPending}>
          {assets.logo ? messages.themes.logoReplace : messages.themes.logoUpload}
        </Button>
      </div>
    </Form>
  )
}

function CurrentLogo({ logo, link }: { logo: string; link: string | null }) {
  // The server accepts no other schemes. This is the last line of defence.
  const isLink = link !== null && /^https?:\/\//i.test(link)
  return (
    <div className={styles.current}>
      <img className={styles.image} src={ownPath(logo)} alt={messages.themes.logoCurrent} />
      {link && (
        <span>
          {messages.themes.linksTo}{' '}
          {isLink ? (
            <a href={link} target="_blank" rel="noreferrer">
              {link}
            </a>
          ) : (
            link
          )}
        </span>
      )}
    </div>
  )
}
