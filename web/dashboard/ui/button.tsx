import type { ButtonHTMLAttributes, Ref } from 'react'
import styles from './button.module.css'
import { classNames } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'

type Look = 'plain' | 'primary' | 'danger' | 'quiet'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: Look
  icon?: IconName
  ref?: Ref<HTMLButtonElement>
}

/** The classes of a button, for links that look like one. */
export const buttonClass = (look: Look = 'plain', isIconOnly = false) =>
  classNames(styles.button, look !== 'plain' && styles[look], isIconOnly && styles.iconOnly)

export function Button({ look = 'plain', icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={classNames(buttonClass(look), className)}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'children' | 'icon'> & { icon: IconName; label: string }

/** A button without text. The label is its name, and its tooltip. */
export function IconButton({ look = 'quiet', icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classNames(buttonClass(look, true), className)}
    >
      <Icon name={icon} />
    </button>
  )
}
