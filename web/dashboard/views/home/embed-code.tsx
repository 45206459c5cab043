import type { Video } from '../../api/types.ts'
import { useShareLinks } from '../../app/use-share-links.ts'
import { messages } from '../../messages/messages.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ErrorText } from '../../ui/states.tsx'

type EmbedCodeProps = { video: Video; onCopied(): void }

/** The embed code. That of a private video is for one viewer. */
export function EmbedCode({ video, onCopied }: EmbedCodeProps) {
  const { assets, error } = useShareLinks(video, 'home')
  return (
    <>
      <p className="muted">{video.public ? messages.home.embedIntro : messages.video.embed.privateText}</p>
      <CodeBlock code={assets?.iframe} language="html" label={messages.home.copyEmbed} onCopied={onCopied} />
      {error && <ErrorText error={error} />}
    </>
  )
}
