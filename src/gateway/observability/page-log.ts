import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { pinoHttp } from 'pino-http'

const fieldsOf = ({ url }: IncomingMessage, { statusCode }: ServerResponse) => ({
  status: statusCode,
  page: url?.split('?')[0],
})

/** Returns middleware that logs one line per public page. Of the request it logs only the path. */
export const createPageLog = (logger: Logger) =>
  pinoHttp<IncomingMessage, ServerResponse>({
    logger,
    quietReqLogger: true,
    serializers: { req: () => undefined, res: () => undefined },
    customAttributeKeys: { responseTime: 'ms', reqId: 'pageRequest' },
    customSuccessMessage: () => 'page',
    customErrorMessage: () => 'page failed',
    customSuccessObject: (request, response, line) => ({ ...line, ...fieldsOf(request, response) }),
    customErrorObject: (request, response, _error, line) => ({ ...line, ...fieldsOf(request, response) }),
  })
