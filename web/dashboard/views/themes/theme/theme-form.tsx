import { type ThemeColor, type ThemeFields, themeColors, themeOptions } from '../../../api/themes.ts'
import type { DraftForm } from '../../../draft/use-draft.ts'
import { messages } from '../../../messages/messages.ts'
import { CheckField, TextField } from '../../../ui/field.tsx'
import { Panel } from '../../../ui/panel.tsx'
import { parseColor } from './color.ts'
import { ColorField } from './color-field.tsx'
import { ContrastNotice } from './contrast-notice.tsx'

const groups: { title: string; colors: ThemeColor[] }[] = [
  {
    title: messages.themes.colorGroups.controls,
    colors: ['link', 'linkHover', 'linkActive', 'text', 'backgroundBottom'],
  },
  {
    title: messages.themes.colorGroups.timeline,
    colors: ['trackPlayed', 'trackUnplayed', 'trackBackground'],
  },
  { title: messages.themes.colorGroups.title, colors: ['backgroundText', 'backgroundTop'] },
]

export function ThemeForm({ form: { typed, set, errorOf } }: { form: DraftForm<ThemeFields> }) {
  const parsed = Object.fromEntries(themeColors.map((name) => [name, parseColor(typed[name])]))
  return (
    <div className="stack">
      <Panel title={messages.themes.options}>
        <TextField
          label={messages.themes.name}
          hint={messages.themes.nameHint}
          maxLength={100}
          value={typed.name}
          error={errorOf('name')}
          onChange={(event) => set({ name: event.target.value })}
        />
        {themeOptions.map((name) => (
          <CheckField
            key={name}
            label={messages.themes.optionLabels[name]}
            checked={typed[name]}
            onChange={(event) => set({ [name]: event.target.checked })}
          />
        ))}
      </Panel>
      {groups.map(({ title, colors }) => (
        <Panel key={title} title={title}>
          {colors.map((name) => (
            <ColorField
              key={name}
              label={messages.themes.colors[name]}
              value={typed[name]}
              error={errorOf(name)}
              onChange={(value) => set({ [name]: value })}
            />
          ))}
        </Panel>
      ))}
      <ContrastNotice colors={parsed as Record<ThemeColor, ReturnType<typeof parseColor>>} />
    </div>
  )
}
