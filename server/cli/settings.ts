import { apiKey } from '../accounts/settings.ts'
import { group, optional, setting, url } from '../lib/settings.ts'

export const cliSettings = {
  cli: group({
    key: setting({
      name: 'KINORA_KEY',
      default: '',
      meaning: 'kinora command only: the API key of commands that call the API. It decides the environment.',
      read: optional(apiKey),
    }),
    url: setting({
      name: 'KINORA_URL',
      default: '',
      meaning:
        'kinora command only: the URL of the service. If not set: the service that runs on the data folder, else http://localhost:8080.',
      read: optional((value) => url('http:', 'https:')(value).replace(/\/+$/, '')),
    }),
  }),
}
