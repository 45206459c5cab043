import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/harness.ts'

// The operations that the published client libraries call, by the operation ids of the interface.

const operations: Record<string, string> = {
  'POST /auth/api-key': 'POST_auth-api-key',
  'POST /auth/refresh': 'POST_auth-refresh',
  'GET /data/buckets/{metric}/{breakdown}': 'GET_metrics-breakdown',
  'GET /data/metrics/{metric}/{aggregation}': 'GET_aggregated-metrics',
  'GET /data/timeseries/{metric}': 'GET_metrics-over-time',
  'GET /discarded/videos': 'LIST-discarded-videos',
  'GET /discarded/videos/{videoId}': 'GET-discarded-video',
  'PATCH /discarded/videos/{videoId}': 'PATCH-discarded-video',
  'GET /live-streams': 'GET_live-streams',
  'POST /live-streams': 'POST_live-streams',
  'DELETE /live-streams/{liveStreamId}': 'DELETE_live-streams-liveStreamId',
  'GET /live-streams/{liveStreamId}': 'GET_live-streams-liveStreamId',
  'PATCH /live-streams/{liveStreamId}': 'PATCH_live-streams-liveStreamId',
  'PUT /live-streams/{liveStreamId}/complete': 'PUT_live-streams-liveStreamId-complete',
  'DELETE /live-streams/{liveStreamId}/thumbnail': 'DELETE_live-streams-liveStreamId-thumbnail',
  'POST /live-streams/{liveStreamId}/thumbnail': 'POST_live-streams-liveStreamId-thumbnail',
  'GET /players': 'GET_players',
  'POST /players': 'POST_players',
  'DELETE /players/{playerId}': 'DELETE_players-playerId',
  'GET /players/{playerId}': 'GET_players-playerId',
  'PATCH /players/{playerId}': 'PATCH_players-playerId',
  'DELETE /players/{playerId}/logo': 'DELETE_players-playerId-logo',
  'POST /players/{playerId}/logo': 'POST_players-playerId-logo',
  'GET /summaries': 'GET_summaries',
  'POST /summaries': 'POST_summaries',
  'DELETE /summaries/{summaryId}': 'DELETE_summaries-summaryId',
  'GET /summaries/{summaryId}/source': 'GET_summaries-summaryId-source',
  'PATCH /summaries/{summaryId}/source': 'PATCH_summaries-summaryId-source',
  'GET /tags': 'LIST-tags',
  'POST /upload': 'POST_upload',
  'GET /upload-tokens': 'GET_upload-tokens',
  'POST /upload-tokens': 'POST_upload-tokens',
  'DELETE /upload-tokens/{uploadToken}': 'DELETE_upload-tokens-uploadToken',
  'GET /upload-tokens/{uploadToken}': 'GET_upload-tokens-uploadToken',
  'GET /videos': 'LIST-videos',
  'POST /videos': 'POST-video',
  'DELETE /videos/{videoId}': 'DELETE-video',
  'GET /videos/{videoId}': 'GET-video',
  'PATCH /videos/{videoId}': 'PATCH-video',
  'GET /videos/{videoId}/captions': 'GET_videos-videoId-captions',
  'DELETE /videos/{videoId}/captions/{language}': 'DELETE_videos-videoId-captions-language',
  'GET /videos/{videoId}/captions/{language}': 'GET_videos-videoId-captions-language',
  'PATCH /videos/{videoId}/captions/{language}': 'PATCH_videos-videoId-captions-language',
  'POST /videos/{videoId}/captions/{language}': 'POST_videos-videoId-captions-language',
  'GET /videos/{videoId}/chapters': 'GET_videos-videoId-chapters',
  'DELETE /videos/{videoId}/chapters/{language}': 'DELETE_videos-videoId-chapters-language',
  'GET /videos/{videoId}/chapters/{language}': 'GET_videos-videoId-chapters-language',
  'POST /videos/{videoId}/chapters/{language}': 'POST_videos-videoId-chapters-language',
  'POST /videos/{videoId}/source': 'POST_videos-videoId-source',
  'GET /videos/{videoId}/status': 'GET-video-status',
  'PATCH /videos/{videoId}/thumbnail': 'PATCH_videos-videoId-thumbnail',
  'POST /videos/{videoId}/thumbnail': 'POST_videos-videoId-thumbnail',
  'GET /watermarks': 'LIST-watermarks',
  'POST /watermarks': 'POST_watermark',
  'DELETE /watermarks/{watermarkId}': 'DELETE_watermark',
  'GET /webhooks': 'LIST-webhooks',
  'POST /webhooks': 'POST-webhooks',
  'DELETE /webhooks/{webhookId}': 'DELETE-webhook',
  'GET /webhooks/{webhookId}': 'GET-Webhook',
}

/** The successful responses of the other operations are 204 for DELETE and 200. */
const statuses: Record<string, string> = {
  'DELETE /live-streams/{liveStreamId}/thumbnail': '200',
  'POST /live-streams/{liveStreamId}/thumbnail': '201',
  'PUT /live-streams/{liveStreamId}/complete': '202',
  'POST /players': '201',
  'POST /players/{playerId}/logo': '201',
  'POST /summaries': '201',
  'PATCH /summaries/{summaryId}/source': '201',
  'POST /upload': '201',
  'POST /videos': '201,202',
  'POST /videos/{videoId}/source': '201',
  'POST /webhooks': '201',
}

test('openapi.json has every operation of the interface, with the same successful responses', async () => {
  const { paths } = JSON.parse(await readFile(join(root, 'openapi.json'), 'utf8'))
  const described = new Map<string, Operation>()
  for (const [path, methods] of Object.entries<Record<string, Operation>>(paths))
    for (const [method, operation] of Object.entries(methods))
      described.set(`${method.toUpperCase()} ${path}`, operation)
  assert.equal(Object.keys(operations).length, 59)
  for (const [route, operationId] of Object.entries(operations)) {
    const operation = described.get(route)
    assert.equal(operation?.operationId, operationId, route)
    const successful = Object.keys(operation!.responses).filter((status) => status.startsWith('2'))
    const expected = statuses[route] ?? (route.startsWith('DELETE') ? '204' : '200')
    assert.equal(successful.join(), expected, route)
  }
})

type Operation = { operationId: string; responses: object }
