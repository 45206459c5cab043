import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { chooseTheme, readTheme, themes } from '../../shared/theme.ts'
import { logOut, logOutEverywhere, sessionQuery, useSession } from '../api/session.ts'
import { messages } from '../messages/messages.ts'
import { IconButton } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { showError } from '../ui/toast-list.ts'
import { runCommand } from './commands.ts'
import { PasswordDialog } from './password-dialog.tsx'

export default function AccountMenu() {
  const [theme, setTheme] = useState(readTheme)
  const [dialog, setDialog] = useState<'everywhere' | 'password'>()
  const client = useQueryClient()
  const navigate = useNavigate()
  const { passwordIsSetting } = useSession()
  const leave = async (end: () => Promise<void>) => {
    await end()
    client.clear()
    client.setQueryData(sessionQuery.queryKey, null)
    // What is not saved could not be saved any more.
    await navigate({ to: '/login', ignoreBlocker: true })
  }
  return (
    <>
      <Menu trigger={<IconButton icon="user" label={messages.account.menu} />}>
        <MenuChoice
          label={messages.account.appearance}
          value={theme}
          choices={themes.map((value) => ({ value, label: messages.account[value] }))}
          onChange={(next) => {
            chooseTheme(next)
            setTheme(next)
          }}
        />
        <MenuSeparator />
        <MenuItem onSelect={() => runCommand('shortcuts')}>{messages.shortcuts.title}</MenuItem>
        {!passwordIsSetting && (
          <MenuItem onSelect={() => setDialog('password')}>{messages.account.changePassword}</MenuItem>
        )}
        <MenuItem onSelect={() => leave(logOut).catch(showError)}>{messages.account.logOut}</MenuItem>
        <MenuItem onSelect={() => setDialog('everywhere')}>{messages.account.logOutEverywhere}</MenuItem>
      </Menu>
      <ConfirmDialog
        isOpen={dialog === 'everywhere'}
        onClose={() => setDialog(undefined)}
        title={messages.account.logOutEverywhere}
        description={messages.account.logOutEverywhereConfirm}
        action={messages.account.logOutEverywhere}
        onConfirm={() => leave(logOutEverywhere)}
      />
      <PasswordDialog isOpen={dialog === 'password'} onClose={() => setDialog(undefined)} />
    </>
  )
}
