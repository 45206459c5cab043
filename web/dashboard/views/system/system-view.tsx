import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function SystemView() {
  return <Page title={texts.navigation.system}>{null}</Page>
}
