import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function LiveView() {
  return <Page title={texts.navigation.live}>{null}</Page>
}
