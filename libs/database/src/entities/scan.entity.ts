import { Entity } from 'typeorm';
import { Flag, Id, Int, Json, Text } from './columns.js';

/** A directory tree that is scanned, and the rules of what in it counts. */
@Entity('roots')
export class RootEntity {
  @Id() id!: number;
  @Text() path!: string;
  /** Base64 of the path's bytes when they are not UTF-8. */
  @Text({ nullable: true }) pathBytes!: string | null;
  /** `pathKey` of the bytes: unique at any length and in any encoding. */
  @Text() pathKey!: string;
  /** JSON as it was written: scans under the same text look for the same. */
  @Text({ default: '{}' }) rules!: string;
  @Int() createdAt!: number;
}

export type ScanMode = 'all' | 'files' | 'folders';
export type ScanOutcome = 'running' | 'completed' | 'interrupted' | 'refused' | 'failed';

/** One run of a producer over a root. Its fence guards every write of the run; its id marks what the run saw. */
@Entity('scans')
export class ScanEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Text() workerId!: string;
  @Int() fence!: number;
  @Text({ default: 'all' }) mode!: ScanMode;
  @Text({ default: 'running' }) outcome!: ScanOutcome;
  @Int() startedAt!: number;
  @Int({ nullable: true }) finishedAt!: number | null;
  @Json({ default: '{}' }) counters!: object;
  @Json({ nullable: true }) checkpoint!: unknown;
  @Text({ nullable: true }) error!: string | null;
}

/**
 * A directory seen by a scan. `lastScanId` says who saw it, `listedScanId` who listed it to its end: where they differ,
 * the folder is still to be listed, so the table is the scan's frontier and a resumed scan goes on from it.
 */
@Entity('folders')
export class FolderEntity {
  @Id() id!: number;
  @Int() rootId!: number;
  @Int({ nullable: true }) parentId!: number | null;
  @Text() path!: string;
  @Text({ nullable: true }) pathBytes!: string | null;
  @Text() pathKey!: string;
  @Int() depth!: number;
  /** `device:inode`, to recognise loops and our own folders. */
  @Text({ nullable: true }) inode!: string | null;
  @Int() firstScannedAt!: number;
  @Int() lastScannedAt!: number;
  @Int() lastScanId!: number;
  @Int({ default: 0 }) listedScanId!: number;
  @Flag() removed!: boolean;
  @Text({ nullable: true }) errorStatus!: string | null;
  /** Of the last listing, while every row of the folder is in it; null when something is missing or unfinished. */
  @Text({ nullable: true }) listingDigest!: string | null;
}
