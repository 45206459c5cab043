import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function VideosView() {
  return <Page title={texts.navigation.videos}>{null}</Page>
}
