import { accessible } from './accessible.js'
import './dialog.js'

/** The id that the document shows as an example; a request that still bears it gets one of its own. */
const exampleId = '8f0c3a52-6f2d-4b55-9a5c-0d4b8f6f6c11'

/** Not by crypto.randomUUID, which a page of plain http has from localhost alone. */
const freshId = () => crypto.getRandomValues(new Uint32Array(4)).join('-')

window.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  plugins: [accessible],
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
  requestInterceptor: (request) => {
    for (const [name, value] of Object.entries(request.headers ?? {}))
      if (name.toLowerCase() === 'x-request-id' && value === exampleId) request.headers[name] = freshId()
    return request
  },
})
