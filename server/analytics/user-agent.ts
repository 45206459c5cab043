import Bowser from 'bowser'

/** What the header User-Agent tells of a viewer. */
export type Agent = {
  deviceType: string | null
  deviceVendor: string | null
  deviceModel: string | null
  osName: string | null
  osVersion: string | null
  browserName: string | null
  browserVersion: string | null
}

/** Existing clients' words for kinds of devices. */
const deviceTypes: Record<string, string> = {
  desktop: 'computer',
  mobile: 'phone',
  tablet: 'tablet',
  tv: 'tv',
  bot: 'bot',
}

const longestAgent = 1_000
const remembered = 5_000
const known = new Map<string, Agent>()

/** Thousands of viewers have the same few hundred headers; one is read in some 20 µs. */
export function readAgent(header: string | undefined): Agent {
  const text = (header ?? '').slice(0, longestAgent)
  let agent = known.get(text)
  if (!agent) {
    agent = parse(text)
    if (known.size >= remembered) known.clear()
    known.set(text, agent)
  }
  return agent
}

function parse(text: string): Agent {
  const { platform, os, browser } = Bowser.parse(text || ' ')
  return {
    deviceType: deviceTypes[platform.type ?? ''] ?? null,
    deviceVendor: word(platform.vendor),
    deviceModel: word(platform.model),
    osName: word(os.name),
    osVersion: word(os.versionName && os.name === 'Windows' ? os.versionName : os.version),
    browserName: word(browser.name),
    browserVersion: word(browser.version),
  }
}

/** Headers are bytes of a stranger: no more than a name's length, and none that the database refuses. */
const word = (text: string | undefined) =>
  text ? text.slice(0, 100).replaceAll('\0', '').toWellFormed() || null : null
