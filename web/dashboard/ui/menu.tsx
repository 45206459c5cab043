import * as Radix from '@radix-ui/react-dropdown-menu'
import type { ReactNode } from 'react'
import { classNames } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'
import styles from './menu.module.css'

/** A button that opens a menu. The trigger is one element that takes a ref. */
export function Menu({ trigger, children }: { trigger: ReactNode; children: ReactNode }) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className={styles.menu} align="end" sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

type MenuItemProps = {
  icon?: IconName
  isDangerous?: boolean
  disabled?: boolean
  onSelect(): void
  children: ReactNode
}

export function MenuItem({ icon, isDangerous = false, disabled = false, onSelect, children }: MenuItemProps) {
  return (
    <Radix.Item
      className={classNames(styles.item, isDangerous && styles.danger)}
      disabled={disabled}
      onSelect={onSelect}
    >
      {icon && <Icon name={icon} size={16} />}
      {children}
    </Radix.Item>
  )
}

type MenuLinkProps = { icon?: IconName; href: string; download?: boolean; children: ReactNode }

export const MenuLink = ({ icon, href, download = false, children }: MenuLinkProps) => (
  <Radix.Item className={styles.item} asChild>
    <a href={href} download={download}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </a>
  </Radix.Item>
)

type Choice<T extends string> = { value: T; label: string }
type MenuChoiceProps<T extends string> = {
  label: string
  value: T
  choices: Choice<T>[]
  onChange(value: T): void
}

export function MenuChoice<T extends string>({ label, value, choices, onChange }: MenuChoiceProps<T>) {
  return (
    <Radix.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
      <Radix.Label className={styles.label}>{label}</Radix.Label>
      {choices.map((each) => (
        <Radix.RadioItem key={each.value} value={each.value} className={styles.item}>
          <span className={styles.mark}>
            <Radix.ItemIndicator>
              <Icon name="check" size={14} />
            </Radix.ItemIndicator>
          </span>
          {each.label}
        </Radix.RadioItem>
      ))}
    </Radix.RadioGroup>
  )
}

export const MenuSeparator = () => <Radix.Separator className={styles.separator} />
