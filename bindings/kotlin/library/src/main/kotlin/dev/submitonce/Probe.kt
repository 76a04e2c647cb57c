package dev.submitonce

public class Probe
