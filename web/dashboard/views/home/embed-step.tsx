import type { Video } from '../../api/types.ts'
import { useShareLinks } from '../../app/use-share-links.ts'
import { texts } from '../../texts/texts.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ErrorText } from '../../ui/states.tsx'
import styles from './step.module.css'

/** The embed code. That of a private video is for one viewer. */
export default function EmbedStep({ video }: { video: Video }) {
  const { assets, error } = useShareLinks(video, 'home')
  return (
    <>
      <p className={styles.muted}>{video.public ? texts.home.embedIntro : texts.video.embed.privateText}</p>
      <CodeBlock code={assets?.iframe} label={texts.home.copyEmbed} />
      {error && <ErrorText error={error} />}
    </>
  )
}
