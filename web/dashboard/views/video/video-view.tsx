import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function VideoView() {
  return <Page title={texts.navigation.videos}>{null}</Page>
}
