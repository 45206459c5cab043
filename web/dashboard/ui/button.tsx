import type { ButtonHTMLAttributes, Ref } from 'react'
import styles from './button.module.css'
import { classNames } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'

export type Variant = 'plain' | 'primary' | 'danger' | 'quiet'

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: Variant
  icon?: IconName
  ref?: Ref<HTMLButtonElement>
}

/** The classes of a button, for links that look like one. */
export const buttonClass = (variant: Variant = 'plain', isIconOnly = false) =>
  classNames(styles.button, variant !== 'plain' && styles[variant], isIconOnly && styles.iconOnly)

export function Button({ variant = 'plain', icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={classNames(buttonClass(variant), className)}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'children' | 'icon'> & { icon: IconName; label: string }

/** A button without text. The label is its name, and its tooltip. */
export function IconButton({ variant = 'quiet', icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classNames(buttonClass(variant, true), className)}
    >
      <Icon name={icon} />
    </button>
  )
}
