import { startApp } from '../kit/app.tsx'
import { Console } from './console.tsx'

await startApp('/console', <Console />)
