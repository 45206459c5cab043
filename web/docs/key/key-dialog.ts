import './key-dialog.css'
import { create } from '../create.ts'
import { createSandboxKey, findSession, revokeSandboxKey } from './dashboard.ts'
import { canFill } from './fill.ts'
import { type KeptKey, readKey } from './kept-key.ts'

type Choose = (key: KeptKey | undefined) => void

/** Asks for the key of the samples. */
export async function openKeyDialog(onChoose: Choose): Promise<void> {
  const error = create('p', { role: 'alert', class: 'problem' })
  const dialog = create('dialog', { class: 'key', 'aria-labelledby': 'key-title' }, [
    create('h2', { id: 'key-title' }, ['Your key in the samples']),
  ])
  const choose: Choose = (key) => {
    dialog.close()
    onChoose(key)
  }
  /** Runs an action and shows why it has failed. */
  const attempt = (action: () => Promise<void>) => async () => {
    error.textContent = ''
    await action().catch((cause: Error) => {
      error.textContent = cause.message
    })
  }
  const close = button('Cancel', () => dialog.close())
  dialog.append(error, create('footer', {}, [close]))
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  const kept = readKey()
  error.before(...(kept ? removal(kept, choose, attempt) : await addition(choose, attempt)))
}

type Attempt = (action: () => Promise<void>) => () => Promise<void>

async function addition(choose: Choose, attempt: Attempt): Promise<HTMLElement[]> {
  const csrfToken = await findSession().catch(() => undefined)
  const creation = csrfToken
    ? [
        paragraph(
          'A new sandbox key for this tab. It is filled into all samples, and you can revoke it here or on the page of the API keys.',
        ),
        button(
          'Create a sandbox key',
          attempt(async () => choose(await createSandboxKey(csrfToken))),
          'primary',
        ),
      ]
    : [
        create('p', {}, [
          create('a', { href: '/dashboard' }, ['Log in to the dashboard']),
          ' to create a sandbox key here.',
        ]),
      ]
  return [...creation, pasteForm(choose, attempt)]
}

function pasteForm(choose: Choose, attempt: Attempt): HTMLElement {
  const input = create('input', { id: 'pasted-key', type: 'password', autocomplete: 'off', required: '' })
  const form = create('form', { class: 'paste' }, [
    create('label', { for: 'pasted-key' }, ['Or paste a key that you have']),
    input,
    create('button', { type: 'submit' }, ['Use this key']),
    paragraph('It stays in this tab and is forgotten when you close it.'),
  ])
  const use = attempt(async () => {
    const key = input.value.trim()
    if (!canFill(key)) throw new Error('A key has at least 8 letters, digits or - _ . ~ + / =')
    choose({ key })
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void use()
  })
  return form
}

function removal({ keyId, name }: KeptKey, choose: Choose, attempt: Attempt): HTMLElement[] {
  if (!keyId) {
    return [
      paragraph('The samples contain the key that you have pasted. Only this tab has it.'),
      button('Remove the key', () => choose(undefined), 'primary'),
    ]
  }
  const revoke = attempt(async () => {
    const csrfToken = await findSession()
    if (!csrfToken) throw new Error('You are not logged in to the dashboard any more.')
    await revokeSandboxKey(csrfToken, keyId)
    choose(undefined)
  })
  return [
    paragraph(`The samples contain the sandbox key “${name}”. Only this tab has it.`),
    button('Revoke the key', revoke, 'primary'),
    button('Remove it from the samples', () => choose(undefined)),
  ]
}

const paragraph = (text: string) => create('p', {}, [text])

function button(label: string, onClick: () => void, className = ''): HTMLElement {
  const element = create('button', { type: 'button', class: className }, [label])
  element.addEventListener('click', onClick)
  return element
}
