import { accessible } from './accessible.js'
import { folded } from './folded.js'
import './dialog.js'

/** The example id in the document. Requests with it get a random id. */
const exampleId = '8f0c3a52-6f2d-4b55-9a5c-0d4b8f6f6c11'

/** Without crypto.randomUUID, which requires https or localhost. */
export const randomId = () => crypto.getRandomValues(new Uint32Array(4)).join('-')

/** Sends the example values of the access codes and the client hash until the reader sets others. */
const authorizeExamples = (ui) => {
  const schemes = ui.specSelectors.specJson().getIn(['components', 'securitySchemes']).toJS()
  for (const [name, scheme] of Object.entries(schemes))
    if (scheme['x-example']) ui.preauthorizeApiKey(name, scheme['x-example'])
}

/** `headers` are added to each request. */
export const showReference = (plugins, headers = {}) => {
  const ui = window.SwaggerUIBundle({
    url: '/openapi.json',
    dom_id: '#reference',
    deepLinking: true,
    plugins: [accessible, folded, ...plugins],
    docExpansion: 'none',
    filter: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    validatorUrl: null,
    onComplete: () => authorizeExamples(ui),
    requestInterceptor: (request) => {
      request.headers = { ...request.headers, ...headers }
      for (const [name, value] of Object.entries(request.headers))
        if (name.toLowerCase() === 'x-request-id' && value === exampleId) request.headers[name] = randomId()
      return request
    },
  })
}
