import { useSession } from '../../../api/session.ts'
import type { SigningKey } from '../../../api/signing-keys.ts'
import { messages } from '../../../messages/messages.ts'
import { Button } from '../../../ui/button.tsx'
import { CodeBlock } from '../../../ui/code-block.tsx'
import { Dialog, DialogActions } from '../../../ui/dialog.tsx'
import { saveFile } from '../../../ui/save-file.ts'
import { Tabs } from '../../../ui/tabs.tsx'
import { titleOf } from '../../../ui/title-of.ts'
import { keyFile, signSamples } from './sign-samples.ts'

type SigningKeyDialogProps = {
  signingKey: SigningKey
  /** Only right after its creation. */
  privateKey?: string
  onClose(): void
}

/** Code that signs tokens with a key, and the key itself if it is new. */
export function SigningKeyDialog({ signingKey, privateKey, onClose }: SigningKeyDialogProps) {
  const { publicUrl } = useSession()
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={privateKey ? messages.signingKeys.createdTitle : titleOf(signingKey.name)}
      description={privateKey ? messages.signingKeys.shownOnce : messages.signingKeys.sampleIntro}
    >
      {privateKey && (
        <>
          <CodeBlock code={privateKey} label={messages.signingKeys.copy} />
          <div>
            <Button icon="download" onClick={() => saveFile(keyFile, [privateKey], 'application/x-pem-file')}>
              {messages.signingKeys.download(keyFile)}
            </Button>
          </div>
          <p className="muted">{messages.signingKeys.sampleIntro}</p>
        </>
      )}
      <Tabs
        label={messages.signingKeys.languages}
        tabs={signSamples(publicUrl, signingKey.signingKeyId).map(({ language, code }) => ({
          value: language,
          label: language,
          content: <CodeBlock code={code} />,
        }))}
      />
      <DialogActions>
        <Button variant="primary" onClick={onClose}>
          {messages.keys.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
