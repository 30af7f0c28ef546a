import { readFileSync } from 'node:fs'
import express from 'express'

/* Sends the gateway's response body with `res.json`. */
const value: unknown = JSON.parse(readFileSync(process.env.BODY ?? '', 'utf8'))

express()
  .disable('x-powered-by')
  .get('/{*any}', (_request, response) => void response.json(value))
  .listen(Number(process.env.PORT), '127.0.0.1')
