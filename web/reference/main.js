/* global Scalar */
// Starts Scalar, which the page has loaded before. Everything that would contact another host is off.
Scalar.createApiReference('#reference', {
  url: '/docs/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  documentDownloadType: 'none',
  // The document has its own code samples, which the tests run.
  hiddenClients: true,
  // One field, for a key or an access token. The key is not stored.
  authentication: { preferredSecurityScheme: 'bearerAuth' },
  persistAuth: false,
  defaultRequestBodyView: 'raw',
  modelsSectionLabel: 'Schemas',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  generateOperationSlug: ({ operationId }) => operationId,
  onLoaded: () => document.querySelector('#loading')?.remove(),
  setPageTitle: ({ title }) => `${title} – Kinora API`,
})
