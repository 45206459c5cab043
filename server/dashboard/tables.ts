/** A login to the dashboard. Only the hash of its token is stored. */
export type DashboardSessionRow = {
  id: string
  hash: Buffer
  created_at: Date
  expires_at: Date
  /** Until then, the password can be set without the current one. */
  password_until: Date | null
}

export type LoginLinkRow = { hash: Buffer; created_at: Date; expires_at: Date; used_at: Date | null }

/** One row at most. */
export type AdminPasswordRow = {
  id: boolean
  hash: string
  /** The password is from the settings. */
  is_setting: boolean
  updated_at: Date
}

/** The logins of one subject, such as an IP address, until `ends_at`. */
type LoginAttemptsRow = { subject: string; attempts: number; ends_at: Date }

declare module '../tables.ts' {
  interface Tables {
    dashboard_sessions: DashboardSessionRow
    login_links: LoginLinkRow
    admin_password: AdminPasswordRow
    login_attempts: LoginAttemptsRow
  }
}
