import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function WebhooksView() {
  return <Page title={texts.navigation.webhooks}>{null}</Page>
}
