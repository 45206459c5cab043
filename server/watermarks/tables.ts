import type { Environment } from '../environments.ts'

/** An image that videos can be created with. */
export type WatermarkRow = {
  id: string
  environment: Environment
  /** The size of the uploaded image in pixels, upright. The stored image can be smaller. */
  width: number
  height: number
  created_at: Date
}

declare module '../tables.ts' {
  interface Tables {
    watermarks: WatermarkRow
  }
}
