import { apiKey } from '../accounts/settings.ts'
import { group, optional, setting, url } from '../lib/settings.ts'

export const cliSettings = {
  cli: group({
    key: setting({
      name: 'KINORA_KEY',
      default: '',
      meaning: 'kinora command only: the API key of kinora upload and kinora videos.',
      read: optional(apiKey),
    }),
    url: setting({
      name: 'KINORA_URL',
      default: 'http://localhost:8080',
      meaning:
        'kinora command only: the URL of the API for kinora upload and kinora videos. The key decides the environment.',
      read: (value) => optional(url('http:', 'https:'))(value)?.replace(/\/+$/, '') ?? '',
    }),
  }),
}
