import type { ServiceName } from '../kinds.ts'
import { apiVideo, kinora } from './api-video.ts'
import { cloudflare } from './cloudflare.ts'
import { folder } from './folder.ts'
import { mux } from './mux.ts'
import { s3 } from './s3.ts'
import type { ImportService } from './service.ts'
import { urls } from './urls.ts'

export const services: Record<ServiceName, ImportService> = {
  'api.video': apiVideo,
  kinora,
  mux,
  cloudflare,
  s3,
  urls,
  folder,
}
