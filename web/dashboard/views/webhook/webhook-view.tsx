import { texts } from '../../texts/texts.ts'
import { Page } from '../../ui/page.tsx'

export function WebhookView() {
  return <Page title={texts.navigation.webhooks}>{null}</Page>
}
