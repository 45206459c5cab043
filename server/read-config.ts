import { accessSettings } from './access/settings.ts'
import { accountsSettings } from './accounts/settings.ts'
import { analyticsSettings } from './analytics/settings.ts'
import { backupsSettings } from './backups/settings.ts'
import { certificatesSettings, findContradictions } from './certificates/settings.ts'
import type { Config } from './config.ts'
import { dashboardSettings } from './dashboard/settings.ts'
import { encodingSettings } from './encoding/settings.ts'
import {
  defaultOf,
  type EffectiveSetting,
  type Env,
  readValues,
  type Setting,
  SettingsError,
  settingsOf,
} from './lib/settings.ts'
import { liveSettings } from './live/settings.ts'
import { mediaSettings } from './media/settings.ts'
import { playbackSettings } from './playback/settings.ts'
import { cliSettings, processSettings } from './settings.ts'
import { sweepSettings } from './sweep/settings.ts'
import { transcriptionSettings } from './transcripts/settings.ts'
import { uploadsSettings } from './uploads/settings.ts'
import { videosSettings } from './videos/settings.ts'
import { webhooksSettings } from './webhooks/settings.ts'

// Only the settings of the slices are loaded, because commands start faster without the rest.
const values = {
  ...processSettings,
  ...certificatesSettings,
  ...accountsSettings,
  ...accessSettings,
  ...videosSettings,
  ...uploadsSettings,
  ...mediaSettings,
  ...encodingSettings,
  ...playbackSettings,
  ...transcriptionSettings,
  ...webhooksSettings,
  ...analyticsSettings,
  ...sweepSettings,
  ...backupsSettings,
  ...liveSettings,
  ...dashboardSettings,
  ...cliSettings,
}

/** Every setting by its name. A test compares docs/settings.md with this list. */
export const settings: Record<string, Setting> = Object.fromEntries(
  settingsOf(values).map((setting) => [setting.name, setting]),
)

/** KINORA_TLS_KEY is the name of a file. */
const isSecret = (name: string) =>
  /_(KEY|PASSWORD|SECRET|TOKEN)$|^KINORA_DATABASE_(DIRECT_)?URL$/.test(name) && name !== 'KINORA_TLS_KEY'

/** URLs can contain a user name, a password or a key. */
const withoutCredentials = (value: string) =>
  value.replace(/^(\w+:\/\/)[^/?#]*@/, '$1').replace(/^(\w+:\/\/[^?#]*)[?#].*$/s, '$1')

/** Every setting with its value, for people who operate the service. */
export const effectiveSettings = (env: Env): EffectiveSetting[] =>
  Object.values(settings).map((setting) => {
    const { name, meaning } = setting
    const set = env[name]
    const initial = defaultOf(setting, env)
    const value = set ?? initial
    return {
      name,
      value: isSecret(name) || value === '' ? null : withoutCredentials(value),
      isSecret: isSecret(name),
      isDefault: set === undefined || set === initial,
      meaning,
    }
  })

/** Every setting is an environment variable. Throws one SettingsError with the problems of all settings. */
export function readConfig(env: Env): Config {
  const config = readValues(values, env, findUnknown(env))
  const contradictions = findContradictions(config)
  if (contradictions.length > 0) throw new SettingsError(contradictions)
  return config
}

/**
 * The settings of a command that calls the API. Variables that are not settings are no error: they may belong to the
 * scripts of the user, and the command does not depend on them.
 */
export function readClientConfig(env: Env) {
  const { dataDir } = processSettings
  return { ...readValues({ dataDir, ...cliSettings }, env), warnings: findUnknown(env) }
}

const findUnknown = (env: Env) =>
  Object.keys(env)
    .filter((name) => name.startsWith('KINORA_') && !(name in settings))
    .map(
      (name) =>
        `${name} is not a setting of Kinora: correct or unset it (docs/settings.md lists all settings).`,
    )
